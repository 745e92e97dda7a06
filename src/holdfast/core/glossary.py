"""Everyday words of the trade in four languages, by how they begin: what a sentence in one language and a
prompt in another may have in common. Only for telling that two texts have nothing in common."""

#: English | German | Spanish | Chinese. A part of a word is enough: more is found, so less is accused.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS = """
deploy releas publish rollout ship |
  bereitstell veröffentlich ausliefer deploy freigeb | despleg desplieg publica lanza |
  部署 发布 發布 上线
production prod | produktion produktiv | producción | 生产 線上 线上
database db sql postgres table mongo sqlite |
  datenbank tabelle | base tabla |
  数据库 資料庫 数据 表
delete remove drop wipe clear clean purge erase |
  lösch entfern leer bereinig | borr elimin limpi quita |
  删 清 移除 去掉
backup dump copy | sicherung kopie | copia respaldo | 备份 備份 复制
password secret credential token key auth login |
  passw passwörter zugang schlüssel geheim anmeld | contraseña clave credencial secreto llave |
  密码 密钥 凭 令牌 登录 密
plain clear text | klartext | texto plano | 明文
test spec check pytest | test prüf | prueba test comprob | 测试 測試 检查 验证
review approval approve pull request merge |
  review prüfung merge genehm | revisi aproba fusión merge |
  审 评审 合并 批准
commit push branch main master git |
  commit push zweig main | commit empuj rama main |
  提交 推送 分支
repository repo public fork open |
  repositor öffentlich | repositorio público abrir |
  仓库 公开 开源
customer client user account tenant |
  kunde nutzer mandant konto | cliente usuario inquilino cuenta |
  客户 用户 租户 客服 账
log logging trace line | protokoll log zeile | registro línea log | 日志 行
cache redis memory | cache zwischenspeicher speicher | caché memoria | 缓存 内存
queue message event kafka topic |
  warteschlange nachricht ereignis | cola mensaje evento |
  队列 消息 事件
contract vendor supplier number |
  vertrag lieferant nummer | contrato proveedor número |
  合同 供应商 编号
android apple ios mobile phone app platform |
  android handy app plattform | android móvil aplicación plataforma |
  安卓 苹果 手机 平台 应用 客户端
license licence gpl mit | lizenz | licencia | 许可
currency money price round invoice bill payment |
  währung preis rund rechnung zahlung händler | moneda precio redonde factura pago comerciante |
  货币 价格 四舍五入 发票 支付 商家
virus scanner security antivirus firewall |
  viren scanner sicherheit | virus antivirus seguridad |
  病毒 扫描 安全
upload download file import export |
  upload hochlad herunter datei | subid subir descarga archivo fichero |
  上传 下载 文件
disable stop skip |
  abschalt deaktiv ausschalt überspring stopp einstell | desactiv par salt abandon |
  关闭 禁用 停 跳过 放弃
enable start activate run |
  einschalt aktiv start ausführ | activ inici ejecut |
  启用 打开 启动 运行
server host machine cluster kubernetes docker container |
  server host rechner container | servidor máquina contenedor |
  服务器 主机 容器 服务
night midnight daily hour minute time second day week friday |
  nacht mitternacht täglich stunde tag woche freitag uhr | noche medianoche diari hora día semana viernes |
  午夜 每天 夜 周五 小时 分钟 时间 天
rename name call title | nenn name | nombre llam renombr | 改名 名 叫
warehouse store shop | lager laden | almacén tienda | 仓库 商店
marketing sales support team |
  vertrieb support marketing | ventas soporte marketing |
  市场 销售 客服 支持
email mail notify notification slack | mail benachricht | correo notific | 邮件 通知
page site web frontend css style design color colour |
  seite web gestalt farbe | página web estilo diseño color |
  页面 网站 样式 颜色 设计
api endpoint route request response http |
  api endpunkt anfrage antwort | api ruta petición respuesta |
  接口 路由 请求 响应
error bug fail crash fix issue |
  fehler absturz beheb korrig | error fallo arregl corrig |
  错误 修 崩溃 失败 问题
doc readme comment document | doku kommentar | documenta comentario | 文档 注释 说明
config setting option environment variable |
  konfig einstellung option | config ajuste opción variable |
  配置 设置 选项 变量
refactor rewrite restructure change move update modify |
  umbau umschreib änder verschieb aktualis | refactor reescrib cambi muev actualiz modific |
  重构 重写 修改 移动 更新
add create new build make write implement |
  hinzufüg erstell neu bau schreib | añad agreg crea nuev constru escrib haz |
  添加 新 创建 写 实现 增加 做
use choose pick switch library package install |
  verwend benutz wähl bibliothek paket install | usa elig biblioteca paquete instal |
  使用 用 选 库 包 安装
migration migrate schema | migration | migraci | 迁移
fast slow performance speed latency |
  schnell langsam leistung | rápid lent rendimiento |
  快 慢 性能 速度
language translate english german spanish chinese |
  sprache übersetz | idioma traduc |
  语言 翻译
data number value field column id |
  daten zahl wert feld spalte | dato valor campo columna |
  数据 值 字段 列
class function method module code |
  klasse funktion methode modul code | clase función método módulo código |
  类 函数 方法 模块 代码
version upgrade | version | versión | 版本 升级
permission access role admin |
  berechtig zugriff rolle rechte | permiso acceso rol |
  权限 访问 角色
read look show display see | les zeig anzeig seh | lee muestr mostr ver | 读 看 显示
wait timeout retry interval poll |
  wart intervall wiederhol | esper interval reintent |
  等 超时 间隔 重试 轮询
"""
#: From so many letters on it may be part of a compound: `Produktionsdatenbank`.
_LONG = 6
_CONCEPTS = tuple(
    tuple(row.replace("|", " ").split()) for row in _ROWS.strip().replace("\n  ", " ").split("\n")
)
#: Each by its first word.
WORDS = {words[0]: words for words in _CONCEPTS}


def concepts(low: str) -> frozenset[str]:
    """Which of them a text speaks of. Each has the name of its first word."""
    return frozenset(
        words[0] for words in _CONCEPTS if any(True for word in words for _ in places(word, low))
    )


def places(word: str, low: str) -> "Iterator[int]":
    """Where it stands. A short one only at the beginning of a word: `key` is not in `monkey`."""
    anywhere = len(word) >= _LONG or not word.isascii()
    at = low.find(word)
    while at >= 0:
        if anywhere or not at or not low[at - 1].isalpha():
            yield at
        at = low.find(word, at + 1)
